"""Multi-head attention, and the backends that compute it."""
