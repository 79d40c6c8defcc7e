// What @solana/kit does with a solana relayer: a user without SOL composes a transaction of version 0, or of the version that is given,
// lets the relayer build the sponsored one, signs it in part, and sends it. Prints the results as JSON.
import {
  appendTransactionMessageInstruction,
  compileTransaction,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  getBase64Encoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
  partiallySignTransaction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash
} from "@solana/kit"
import { createPrivateKey } from "node:crypto"
import { readFileSync } from "node:fs"

const memoProgram = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"

const [relayer, mint, file, wantedVersion = "0"] = process.argv.slice(2)
const seed = createPrivateKey(readFileSync(file)).export({ format: "der", type: "pkcs8" }).subarray(-32)
const user = await createKeyPairSignerFromPrivateKeyBytes(Uint8Array.from(seed))

const call = async (path, body) => {
  const response = await fetch(`${process.env.RELAYER_URL}/api/v1/relayers/${relayer}${path}`, {
    headers: { authorization: `Bearer ${process.env.API_KEY}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) })
  })
  const { data, error } = await response.json()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${error}`)
  return data
}

const wanted = pipe(
  createTransactionMessage({ version: Number(wantedVersion) }),
  (message) => setTransactionMessageFeePayer(user.address, message),
  // The relayer puts a blockhash of its own into what it builds.
  (message) => setTransactionMessageLifetimeUsingBlockhash({ blockhash: mint, lastValidBlockHeight: 0n }, message),
  (message) =>
    appendTransactionMessageInstruction(
      { programAddress: memoProgram, accounts: [], data: new TextEncoder().encode("hello from kit") },
      message
    )
)
const request = { transaction: getBase64EncodedWireTransaction(compileTransaction(wanted)), fee_token: mint }
const built = await call("/transactions/sponsored/build", request)

const transaction = getTransactionDecoder().decode(getBase64Encoder().encode(built.transaction))
const { version } = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
const signed = await partiallySignTransaction([user.keyPair], transaction)
const { id } = await call("/transactions", { transaction: getBase64EncodedWireTransaction(signed) })

const final = new Set(["confirmed", "failed", "expired", "canceled"])
let shown = await call(`/transactions/${id}`)
while (!final.has(shown.status)) {
  await new Promise((resolve) => setTimeout(resolve, 250))
  shown = await call(`/transactions/${id}`)
}
process.stdout.write(JSON.stringify({ user: user.address, version, status: shown.status, code: shown.code }))
