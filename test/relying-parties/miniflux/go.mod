module gatehouse/test/relying-parties/miniflux

go 1.26

require miniflux.app/v2 v2.3.5
