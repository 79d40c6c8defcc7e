// What Node can do at most: answers with bodies that it was given at its start, and looks at nothing but the path.
// PORT: where it listens. LIST, ONE: the bodies of a list and of one relayer.
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
