package game

func listKinds([]anyKind) {}

func listEvents([]anyEvent) {}

func listMessages([]anyMessage) {}
