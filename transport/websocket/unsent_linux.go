package websocket

// TCP_NOTSENT_LOWAT of linux/tcp.h, which package syscall does not name.
const tcpNotSentLowAt = 25
