// The cursors of the list of relayers. A cursor contains the position where the next page starts, the number of that page,
// and the total when the first page was served, so that later pages do not count again.
import { Effect, Schema } from "effect"
import type { Relayer, RelayerQuery } from "../../domain/relayer/Relayer.ts"
import { pageRequest } from "../../domain/request/Page.ts"
import type { Page } from "../../domain/request/Page.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Cursors } from "../cursors/Cursors.ts"
import type { Position } from "./RelayerOrder.ts"
import type { RelayerSelection } from "./RelayerPagesRepo.ts"

/** Sequence number, key of the order, page number, total. */
const At = Schema.Tuple([Schema.Int, Schema.String, Schema.Int, Schema.Int])
const decode = Schema.decodeUnknownEffect(At)

/** The list that a cursor belongs to. */
const listOf = ({ filter, ids, sort }: Pick<RelayerSelection, "filter" | "ids" | "sort">) =>
  JSON.stringify(["relayers", sort, Object.entries(filter).sort(), ids])

/** The selection for a query. For the caller, only the relayers `ids` exist; `undefined` means all. */
export const read = Effect.fnUntraced(function* (
  cursors: Cursors["Service"],
  { page, per_page, cursor, sort = "created_at", include, ...filter }: RelayerQuery,
  ids: ReadonlyArray<string> | undefined
): Effect.fn.Return<RelayerSelection, BadRequest> {
  const numbers = per_page === undefined ? {} : { per_page }
  const selected = { filter, ids, sort, hasHealth: include === "health" }
  if (cursor === undefined) {
    return {
      ...selected,
      request: pageRequest({ ...numbers, ...(page === undefined ? {} : { page }) }),
      from: undefined
    }
  }
  if (page !== undefined) return yield* BadRequest.of([{ field: "page", message: "cannot be given with a cursor" }])
  const at = yield* cursors.read(listOf(selected), cursor)
  const [seq, key, number, total] = yield* Effect.orDie(decode(at))
  return { ...selected, request: pageRequest({ ...numbers, page: number }), from: { position: { seq, key }, total } }
})

/** The cursor of the page after `last`, which is the last relayer of a page. */
export const next = (
  cursors: Cursors["Service"],
  selection: RelayerSelection,
  page: Omit<Page<Relayer>, "items">,
  last: Position
): Effect.Effect<string> => cursors.make(listOf(selection), [last.seq, last.key, page.request.page + 1, page.total])
