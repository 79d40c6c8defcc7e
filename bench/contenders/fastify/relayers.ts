// The routes of relayers: list, get, create.
import type { FastifyInstance } from "fastify"
import { randomUUID } from "node:crypto"
import type { Pool } from "pg"
import { builtin } from "../../../src/server/networks/builtin.ts"
import type { Audit } from "./audit.ts"
import { cursors } from "./cursor.ts"
import { Failure } from "./failures.ts"
import * as queries from "./queries.ts"
import type { RelayerRow } from "./queries.ts"
import * as schemas from "./schemas.ts"
import { transaction } from "./transaction.ts"

interface Options {
  readonly pool: Pool
  readonly audit: Audit
  /** Authenticates the cursors. */
  readonly secret: string
}

interface PageQuery {
  readonly page?: string
  readonly per_page?: string
  readonly cursor?: string
}

interface CreateRelayer {
  readonly id?: string
  readonly name: string
  readonly network: string
  readonly paused: boolean
  readonly signer_id: string
  readonly policies?: object
}

interface PageRow extends RelayerRow {
  readonly total: number
  readonly seq: number | null
}

const networkNames = new Set(builtin.filter(({ network_type }) => network_type === "evm").map(({ name }) => `${name}`))

/** The database stores amounts as numbers. A request may contain them as strings. */
const policiesText = (policies: object | undefined) =>
  policies === undefined
    ? null
    : JSON.stringify(policies, (key, value) =>
        key.endsWith("_cap") || key.endsWith("_balance") ? JSON.rawJSON(String(value)) : value
      )

const atMost = (text: string | undefined, otherwise: number, most: number) =>
  text === undefined ? otherwise : Math.min(Number(text), most)

export const relayers =
  ({ pool, audit, secret }: Options) =>
  (app: FastifyInstance): void => {
    const places = cursors(secret)

    app.get<{ Querystring: PageQuery }>(
      "/api/v1/relayers",
      { schema: { querystring: schemas.listQuery, response: { 200: schemas.pageAnswer } } },
      async ({ query, url }, reply) => {
        const place = query.cursor === undefined ? undefined : places.read(query.cursor)
        const number = place?.page ?? Math.max(1, atMost(query.page, 1, Number.MAX_SAFE_INTEGER))
        const size = atMost(query.per_page, 10, 1000)
        // One row more than the page has: it shows whether there is a next page.
        const limit = size === 0 ? 0 : size + 1
        const offset = Math.min((number - 1) * size, Number.MAX_SAFE_INTEGER)
        const { rows } = await pool.query<PageRow>(
          place === undefined
            ? { ...queries.page, values: [limit, offset] }
            : { ...queries.pageAfter, values: [limit, place.seq, place.total] }
        )
        const total = rows[0]?.total ?? 0
        const found = rows.filter(({ seq }) => seq !== null)
        const served = found.slice(0, size)
        const last = served.at(-1)?.seq
        if (typeof last === "number" && found.length > served.length) {
          const next = new URLSearchParams(url.split("?")[1])
          next.delete("page")
          next.set("cursor", places.make({ seq: last, page: number + 1, total }))
          reply.header("link", `</api/v1/relayers?${next}>; rel="next"`)
        }
        const pagination = { current_page: number, per_page: size, total_items: total }
        return { success: true, data: served.map(queries.toRelayer), pagination }
      }
    )

    app.get<{ Params: { id: string } }>(
      "/api/v1/relayers/:id",
      { schema: { params: schemas.oneParams, response: { 200: schemas.oneAnswer } } },
      async ({ params }, reply) => {
        const { rows } = await pool.query<RelayerRow>({ ...queries.one, values: [params.id] })
        const [row] = rows
        if (row === undefined) throw new Failure(404, "Relayer not found")
        reply.header("etag", `"${row.version}"`)
        return { success: true, data: queries.toRelayer(row) }
      }
    )

    app.post<{ Body: CreateRelayer }>(
      "/api/v1/relayers",
      { schema: { body: schemas.createRelayer, response: { 201: schemas.oneAnswer } } },
      async ({ id: requestId, body, log }, reply) => {
        if (!networkNames.has(body.network)) {
          throw new Failure(400, "Bad Request", "network: no evm network of this name")
        }
        const id = body.id ?? randomUUID()
        const values = [id, body.name, body.network, body.paused, policiesText(body.policies), body.signer_id]
        const row = await transaction(pool, async (client) => {
          const { rows } = await client.query<RelayerRow>({ ...queries.insert, values })
          const [row] = rows
          if (row === undefined) throw new Failure(400, "Bad Request", "signer_id: no signer with this id")
          const { version: _, ...relayer } = queries.toRelayer(row)
          const change = [id, requestId, JSON.stringify(relayer)]
          await client.query({ ...queries.record, values: change })
          await client.query({ ...queries.publish, values: change })
          return row
        })
        audit.changed()
        log.info({ relayer_id: id, network_type: "evm", network: body.network }, "relayer created")
        reply.code(201).header("location", `/api/v1/relayers/${id}`).header("etag", `"${row.version}"`)
        return { success: true, data: queries.toRelayer(row) }
      }
    )
  }
