namespace starling {}
