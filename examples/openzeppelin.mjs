// The published SDK of another relayer service, unchanged: lists relayers, sends a transaction, and waits until it is final.
//
//   npm install @openzeppelin/relayer-sdk
//   RELAYER_URL=http://127.0.0.1:8080 API_KEY=… node examples/openzeppelin.mjs RELAYER RECEIVER
import { Configuration, RelayersApi, Speed } from "@openzeppelin/relayer-sdk"

const final = new Set(["confirmed", "failed", "expired", "canceled"])

const [relayer, to] = process.argv.slice(2)
const { RELAYER_URL, API_KEY } = process.env
if (to === undefined || RELAYER_URL === undefined || API_KEY === undefined) {
  console.error("usage: RELAYER_URL=http://… API_KEY=… node examples/openzeppelin.mjs RELAYER RECEIVER")
  process.exit(2)
}
const relayers = new RelayersApi(new Configuration({ basePath: RELAYER_URL, accessToken: API_KEY }))

const { data: listed } = await relayers.listRelayers()
console.log("relayers:", listed.data.map(({ id }) => id).join(", "))

const { data: sent } = await relayers.sendTransaction(relayer, {
  to,
  value: 1,
  data: "0x",
  gas_limit: 21_000,
  speed: Speed.FAST
})
console.log("sent:", sent.data.id, sent.data.status)

for (;;) {
  const { data: read } = await relayers.getTransactionById(relayer, sent.data.id)
  if (final.has(read.data.status)) {
    console.log("ended:", read.data.status, read.data.hash)
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
}
