// The table `signers`.
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import type { Page, PageRequest } from "../../domain/Page.ts"
import { SignerId, SignerIdTaken } from "../../domain/Signer.ts"
import type { Signer } from "../../domain/Signer.ts"
import { client, onConflict, query } from "../../sql/Query.ts"
import { selectPage } from "../../sql/SelectPage.ts"

const Row = Schema.Struct({
  id: SignerId,
  type: Schema.Literal("plain"),
  evm_address: Schema.String,
  solana_address: Schema.String,
  stellar_address: Schema.String
})

const fromRow = (row: typeof Row.Type): Signer => ({
  id: row.id,
  type: row.type,
  config: {},
  addresses: { evm: row.evm_address, solana: row.solana_address, stellar: row.stellar_address }
})

export class SignersRepo extends Context.Service<
  SignersRepo,
  {
    insert(signer: Signer, keySealed: Uint8Array): Effect.Effect<void, SignerIdTaken>
    find(id: SignerId): Effect.Effect<Option.Option<Signer>>
    page(request: PageRequest): Effect.Effect<Page<Signer>>
  }
>()("effect-relayer/server/Signers/SignersRepo") {
  static readonly layer = Layer.effect(
    SignersRepo,
    Effect.gen(function* () {
      const sql = yield* client
      const columns = sql`t.id, t.type, t.evm_address, t.solana_address, t.stellar_address`

      const insert = (signer: Signer, keySealed: Uint8Array) =>
        sql`INSERT INTO signers ${sql.insert({
          id: signer.id,
          type: signer.type,
          key_sealed: keySealed,
          evm_address: signer.addresses.evm,
          solana_address: signer.addresses.solana,
          stellar_address: signer.addresses.stellar
        })}`.pipe(
          onConflict("signers_pkey", () => new SignerIdTaken({})),
          Effect.asVoid,
          query("SignersRepo.insert")
        )

      const findRow = SqlSchema.findOneOption({
        Request: SignerId,
        Result: Row,
        execute: (id) => sql`SELECT ${columns} FROM signers t WHERE t.id = ${id}`
      })

      const find = (id: SignerId) => findRow(id).pipe(Effect.map(Option.map(fromRow)), query("SignersRepo.find"))

      const selectRows = selectPage(sql, { table: "signers", columns, Row })

      const page = (request: PageRequest) =>
        selectRows(request.perPage, request.offset).pipe(
          Effect.map(({ items, total }) => ({ items: items.map(fromRow), total, request })),
          query("SignersRepo.page")
        )

      return SignersRepo.of({ insert, find, page })
    })
  )
}
