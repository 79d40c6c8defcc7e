// The published SDK of another relayer service, unchanged, with a solana relayer: quotes and builds a transaction whose user pays the
// fee in a token, signs it as the user, sends it, and waits until it is final. The user needs no SOL.
//
//   npm install @openzeppelin/relayer-sdk
//   RELAYER_URL=http://127.0.0.1:8080 API_KEY=… node examples/openzeppelin-solana.mjs RELAYER MINT USER.pem
//
// RELAYER has the policy `fee_payment_strategy: user` and MINT in `allowed_tokens`. USER.pem has the user's ed25519 key (PKCS#8).
import { Configuration, RelayersApi } from "@openzeppelin/relayer-sdk"
import { createPrivateKey, createPublicKey, sign } from "node:crypto"
import { readFileSync } from "node:fs"

const final = new Set(["confirmed", "failed", "expired", "canceled"])

const [relayer, mint, file] = process.argv.slice(2)
const { RELAYER_URL, API_KEY } = process.env
if (file === undefined || RELAYER_URL === undefined || API_KEY === undefined) {
  console.error("usage: RELAYER_URL=http://… API_KEY=… node examples/openzeppelin-solana.mjs RELAYER MINT USER.pem")
  process.exit(2)
}
const relayers = new RelayersApi(new Configuration({ basePath: RELAYER_URL, accessToken: API_KEY }))

const secret = createPrivateKey(readFileSync(file))
const user = createPublicKey(secret).export({ format: "der", type: "spki" }).subarray(-32)

// A message in the legacy form: the user pays, and the memo program is called. Build puts the relayer in the user's place.
const memoProgram = Buffer.from("054a535a992921064d24e87160da387c7c35b5ddbc92bb81e41fa8404105448d", "hex")
const memo = Buffer.from("hello from the SDK")
const message = Buffer.concat([
  Buffer.from([1, 0, 1, 2]),
  user,
  memoProgram,
  Buffer.alloc(32),
  Buffer.from([1, 1, 0, memo.length]),
  memo
])
const wanted = Buffer.concat([Buffer.from([1]), Buffer.alloc(64), message]).toString("base64")

const { data: quoted } = await relayers.quoteSponsoredTransaction(relayer, { transaction: wanted, fee_token: mint })
console.log("costs:", quoted.data.estimated_fee, "tokens")

const { data: built } = await relayers.buildSponsoredTransaction(relayer, { transaction: wanted, fee_token: mint })

/** The user's signature goes to the place of the user's key. A transaction begins with the count of its signatures. */
const signedByUser = (transaction) => {
  const bytes = Buffer.from(transaction, "base64")
  const count = bytes[0]
  const body = bytes.subarray(1 + 64 * count)
  const firstKey = 4
  const place = Array.from({ length: count }, (_, index) => index).find((index) =>
    body.subarray(firstKey + 32 * index, firstKey + 32 * (index + 1)).equals(user)
  )
  bytes.set(sign(null, body, secret), 1 + 64 * place)
  return bytes.toString("base64")
}

const { data: sent } = await relayers.sendTransaction(relayer, { transaction: signedByUser(built.data.transaction) })
console.log("sent:", sent.data.id, sent.data.status)

for (;;) {
  const { data: read } = await relayers.getTransactionById(relayer, sent.data.id)
  if (final.has(read.data.status)) {
    console.log("ended:", read.data.status, read.data.signature)
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 500))
}
