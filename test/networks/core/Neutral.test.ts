// The files that all network types share name none of them: words of evm stand there only as columns, codes and fields.
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import * as path from "node:path"

const src = path.resolve(import.meta.dirname, "../../../src")

/** Each file directly in one of these folders is for all network types. */
const folders = ["networks/core", "server/lanes", "server/ledger", "server/transactions"]

/** Columns of tables, and what reads them. */
const columns = [
  "nonce",
  "required_nonce",
  "next_nonce",
  "chain_nonce",
  "settled_nonce",
  "oldest_nonce",
  "transactions_nonce_key"
]

/** Codes, actions of the audit log, and reasons for which a relayer is disabled. */
const codes = [
  "nonce_taken",
  "nonce_taken_unproven",
  "nonce_taken_too_often",
  "nonce_out_of_range",
  "nonce_ahead",
  "nonce_unexplained",
  "nonce_unavailable",
  "gas_price_above_cap",
  "gas_price_below_base_fee",
  "gas_limit_above_block",
  "gas_limit_below_estimate",
  "out_of_gas",
  "durable_nonce",
  "NonceSyncFailed",
  "nonces",
  "NonceAction"
]

/** Fields, parameters and schemas of requests and responses, and the words of their descriptions. */
const fields = [
  "byNonce",
  "front_nonce",
  "ResyncNonce",
  "ResyncNonceRequest",
  "Nonce",
  "gas_limit",
  "block_gas_limit",
  "Gas",
  "gas",
  "Wei",
  "wei",
  "evm",
  "EvmReceiver",
  "EvmSignature",
  "CheckedEvmAddress",
  "CheckedEvmCall"
]

/** The group of the contract that reads and repairs sequences of every network type, its service, and its schemas. */
const sequences = ["Nonces", "NoncesHttp", "ClearNonces", "ClearedNonces", "NonceDecision"]

const known = new Set([...columns, ...codes, ...fields, ...sequences])

const withoutComments = (text: string): string => text.replaceAll(/(?<=^|\s)\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm, "")

const wordsIn = (text: string): ReadonlyArray<string> =>
  (withoutComments(text).match(/[A-Za-z0-9_]+/g) ?? []).filter((word) => /evm|nonce|gas|wei(?!g)/i.test(word))

const found = folders.flatMap((folder) =>
  fs
    .readdirSync(path.join(src, folder))
    .filter((name) => name.endsWith(".ts"))
    .flatMap((name) =>
      wordsIn(fs.readFileSync(path.join(src, folder, name), "utf8")).map((word) => ({
        file: `${folder}/${name}`,
        word
      }))
    )
)

describe("the files that all network types share", () => {
  it("have no words of evm but those of the list", () => {
    const unknown = found.filter(({ word }) => !known.has(word)).map(({ file, word }) => `${file}: ${word}`)
    assert.deepStrictEqual([...new Set(unknown)], [])
  })

  it("have every word of the list", () => {
    const words = new Set(found.map(({ word }) => word))
    assert.deepStrictEqual(
      [...known].filter((word) => !words.has(word)),
      []
    )
  })
})
