"""The reporter: tells central which allocations, limits and accounts really exist at this Site (S8, S11,
P36).
"""
