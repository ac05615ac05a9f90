"""How bytes cross the slow link: pure cores, thin asyncio edges."""
