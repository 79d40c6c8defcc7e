// Reads an account of the Stellar ledger from an RPC server. The chain library is loaded on first use.
import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { Uint64 } from "../../../domain/chain/Amount.ts"
import type { TypedCall } from "../RpcNode.ts"

const Entries = Schema.Struct({
  entries: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Struct({ xdr: Schema.String }))))
})

const Account = Schema.Struct({ balance: Uint64, sequence_number: Uint64 })
type Account = typeof Account.Type

/** `read` decodes a ledger entry from XDR. It throws if the entry is not the account. */
const accountBy = (read: (entry: string) => typeof Account.Encoded) =>
  Entries.pipe(
    Schema.decodeTo(
      Schema.NullOr(Account),
      SchemaTransformation.transformEffect({
        decode: ({ entries }: typeof Entries.Type, options) => {
          const entry = entries?.at(0)?.xdr
          if (entry === undefined) return Effect.succeed(null)
          return Effect.try({
            try: () => read(entry),
            catch: () => new SchemaIssue.InvalidValue({ expected: "the account's entry" }, entry, options)
          })
        },
        encode: (_, options) =>
          Effect.fail(new SchemaIssue.Forbidden({ message: "entries are only read" }, undefined, options))
      })
    )
  )

/** The call that reads the account. Its result is null if the account does not exist. */
export const get = Effect.fn("StellarAccount.get")((address: string) =>
  Effect.promise(async (): Promise<TypedCall<Account | null>> => {
    const { Keypair, xdr } = await import("@stellar/stellar-sdk/base")
    const accountId = Keypair.fromPublicKey(address).xdrPublicKey()
    const key = xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXDR("base64")
    const result = accountBy((entry) => {
      const data = xdr.LedgerEntryData.fromXDR(entry, "base64")
      if (data.type !== "account" || data.account.accountId.toXDR("base64") !== accountId.toXDR("base64")) {
        throw new Error("the entry is not the requested account")
      }
      return { balance: data.account.balance, sequence_number: data.account.seqNum }
    })
    return { method: "getLedgerEntries", params: { keys: [key] }, result }
  })
)
