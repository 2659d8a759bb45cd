"""OpenUSD stages: UsdPhysics, Newton and PhysX attributes (extra `usd`)."""
