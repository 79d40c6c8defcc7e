// A facilitator as a program: the package of this repository with the scheme of @x402/evm. `FACILITATOR` has its settings as JSON.
import { createServer } from "node:http"
import { ExactEvmScheme } from "@x402/evm/exact/facilitator"
import { createFacilitator, createListener } from "@effect-relayer/x402"
import { overHttp } from "@effect-relayer/x402/http"

const { port = 0, service, ...options } = JSON.parse(process.env.FACILITATOR)
const facilitator = createFacilitator({ exact: ExactEvmScheme, relayers: overHttp(service), ...options })
const server = createServer(createListener(facilitator)).listen(port, "127.0.0.1", () => {
  process.stdout.write(`listens on http://127.0.0.1:${server.address().port}\n`)
})
