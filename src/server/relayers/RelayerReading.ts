// Reads relayers and pages of them. Concurrent reads share queries.
import { Effect, Result } from "effect"
import type { Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as Batcher from "../../sql/batch/Batcher.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { RelayerId, RelayerQuery } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import { CurrentShare, withShare } from "../../sql/Query.ts"
import type { ConnectionShare } from "../../sql/Query.ts"
import { maxNumberedBytes } from "../../sql/Rows.ts"
import { Cursors } from "../cursors/Cursors.ts"
import * as RelayerPagesRepo from "./RelayerPagesRepo.ts"
import type { RelayerSelection } from "./RelayerPagesRepo.ts"
import * as RelayersCursor from "./RelayersCursor.ts"
import * as RelayersRepo from "./RelayersRepo.ts"
import { StoredPage, orNotFound } from "./StoredRelayer.ts"
import type { StoredRelayer } from "./StoredRelayer.ts"

// `get` and `list` have no spans of their own: the spans of their queries say the same, and a span costs as much as a read.
/** A page by number has to be whole: a caller that counts pages would miss what was left off. */
const tooLarge = (served: number) =>
  BadRequest.of([{ field: "per_page", message: `only ${served} of these relayers fit into ${maxNumberedBytes} bytes` }])

/** A page that a caller asks for. Its query uses the caller's share of the connections. */
interface Reading {
  readonly selection: RelayerSelection
  readonly callerId: string
  readonly share: ConnectionShare | undefined
}

export const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const repo = yield* RelayersRepo.make
  const pages = yield* RelayerPagesRepo.make
  const cursors = yield* Cursors

  const find = yield* Batcher.make<RelayerId, Exit.Exit<Option.Option<StoredRelayer>>>(sql, { all: repo.findAll })

  const get = (id: RelayerId) => Effect.flatMap(Effect.flatten(find(id)), orNotFound)

  const findNumber = yield* Batcher.make<RelayerId, Option.Option<number>>(sql, { all: repo.findNumbers })

  const numberOf = (id: RelayerId) => Effect.flatMap(findNumber(id), orNotFound)

  const readPage = Effect.fnUntraced(function* (selection: RelayerSelection) {
    const { page, last, served, isCut } = yield* pages.find(selection)
    if (isCut && selection.from === undefined) return Result.fail(tooLarge(served))
    if (last === undefined) return Result.succeed(page)
    const next = yield* RelayersCursor.next(cursors, selection, page, last)
    return Result.succeed(new StoredPage({ ...page, next }))
  })

  /**
   * Requests of a caller for the same page share one query and one cursor. The query starts after all of them have arrived.
   */
  const findPage = yield* Batcher.make<Reading, Result.Result<StoredPage, BadRequest>>(sql, {
    group: ({ selection, callerId }) => JSON.stringify([callerId, selection]),
    all: ([{ selection, share }, ...others]) =>
      Effect.map(withShare(share)(readPage(selection)), (page) => [page, ...others.map(() => page)])
  })

  const list = Effect.fnUntraced(function* (query: RelayerQuery) {
    const { id: callerId, relayerIds } = yield* Caller.current
    const share = yield* CurrentShare
    const selection = yield* RelayersCursor.read(cursors, query, relayerIds)
    return yield* Effect.flatMap(findPage({ selection, callerId, share }), Effect.fromResult)
  })

  return { get, numberOf, list }
})
