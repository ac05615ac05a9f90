"""Delivers a byte stream that its receiver asks for: RCP (Hsieh et al., MobiCom 2003). Pure."""
