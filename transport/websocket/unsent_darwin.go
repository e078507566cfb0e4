package websocket

// TCP_NOTSENT_LOWAT of netinet/tcp.h, which package syscall does not name.
const tcpNotSentLowAt = 0x201
