"""NAI, the Network-Aware Interface, and ATP under it (Atkin, Birman: "Evaluation of an Adaptive
Transport Protocol"): messages with priorities, queues and callback timers over any carrier."""
