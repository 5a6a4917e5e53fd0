"""The gateway's URLs at protected sites, below `/.realmgate/`: for browsers."""
