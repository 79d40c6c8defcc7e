// The upper limit of Node: a server that sends fixed bodies and reads only the path of a request.
// Settings: PORT, and the bodies LIST and ONE (a list, and one relayer).
import { createServer } from "node:http"

const { PORT, LIST = "", ONE = "" } = process.env

const headersOf = (body: Buffer) => ({ "content-type": "application/json", "content-length": body.length })
const list = Buffer.from(LIST)
const one = Buffer.from(ONE)
const listHeaders = headersOf(list)
const oneHeaders = headersOf(one)

createServer((request, response) => {
  if (request.url?.startsWith("/api/v1/relayers/") === true) response.writeHead(200, oneHeaders).end(one)
  else response.writeHead(200, listHeaders).end(list)
}).listen(Number(PORT), "127.0.0.1")
