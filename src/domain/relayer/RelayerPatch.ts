// Applies merge patches to relayers. The result must be a relayer that could have been created.
import { Effect, Result, Schema } from "effect"
import * as ExactJson from "../request/ExactJson.ts"
import * as MergePatch from "../request/MergePatch.ts"
import { CreateRelayer, UpdateRelayer } from "./Relayer.ts"
import type { Relayer } from "./Relayer.ts"
import { BadRequest } from "../request/Request.ts"
import type { Violation } from "../request/Request.ts"
import * as ResourceSize from "../request/ResourceSize.ts"
import { unmask } from "../chain/Rpc.ts"
import type { RpcConfig } from "../chain/Rpc.ts"

const parseOptions = { errors: "all", onExcessProperty: "error" } as const
const encodeRequest = Schema.encodeSync(CreateRelayer)
const encodePatch = Schema.encodeSync(UpdateRelayer)
const decodeRequest = Schema.decodeUnknownEffect(CreateRelayer, parseOptions)

/** The encoded form as a body has it: amounts are numbers with every digit. */
const asBody = (encoded: unknown) => ExactJson.parse(JSON.stringify(encoded))

/** The request that would create the relayer. `urls` are its RPC URLs, unmasked. */
export const requestOf = (relayer: Relayer, urls: ReadonlyArray<RpcConfig> | undefined): CreateRelayer => {
  const {
    address: _,
    system_disabled: __,
    disabled_reason: ___,
    custom_rpc_urls: ____,
    managed_by: _____,
    health: ______,
    ...fields
  } = relayer
  return { ...fields, ...(urls === undefined ? {} : { custom_rpc_urls: urls }) }
}

export interface Patched {
  readonly request: CreateRelayer
  /** Whether the patch changes anything. */
  readonly isChanged: boolean
}

/** Puts the stored URLs in the place of masked ones. */
const unmasked = (
  patch: UpdateRelayer,
  urls: ReadonlyArray<RpcConfig> = []
): Result.Result<UpdateRelayer, ReadonlyArray<Violation>> => {
  const { custom_rpc_urls: given } = patch
  if (given === undefined || given === null) return Result.succeed(patch)
  return Result.map(unmask("custom_rpc_urls", given, urls), (custom_rpc_urls) => ({ ...patch, custom_rpc_urls }))
}

/** Fails with `BadRequest` if the result is not a valid relayer. The fields are named as in a create. */
export const apply = Effect.fnUntraced(function* (
  relayer: Relayer,
  urls: ReadonlyArray<RpcConfig> | undefined,
  patch: UpdateRelayer
): Effect.fn.Return<Patched, BadRequest> {
  const stored = requestOf(relayer, urls)
  const before = asBody(encodeRequest(stored))
  const changes = yield* Effect.mapError(Effect.fromResult(unmasked(patch, urls)), BadRequest.of)
  const request = yield* decodeRequest(MergePatch.apply(before, asBody(encodePatch(changes)))).pipe(
    Effect.mapError(({ issue }) => BadRequest.fromIssue(issue, "body"))
  )
  yield* ResourceSize.check(request, stored)
  return { request, isChanged: !isEqual(before, asBody(encodeRequest(request))) }
})

/** The relayer as a request describes it, with stored URLs in the places of masked ones. */
export const define = Effect.fnUntraced(function* (
  relayer: Relayer,
  urls: ReadonlyArray<RpcConfig> | undefined,
  given: CreateRelayer
): Effect.fn.Return<Patched, BadRequest> {
  const stored = requestOf(relayer, urls)
  const resolved = unmask("custom_rpc_urls", given.custom_rpc_urls ?? [], urls ?? [])
  const custom_rpc_urls = yield* Effect.mapError(Effect.fromResult(resolved), BadRequest.of)
  const request = given.custom_rpc_urls === undefined ? given : { ...given, custom_rpc_urls }
  yield* ResourceSize.check(request, stored)
  return { request, isChanged: !isEqual(asBody(encodeRequest(stored)), asBody(encodeRequest(request))) }
})

/** Compares by value. The order of fields does not matter. */
const isEqual = (one: unknown, other: unknown): boolean => canonical(one) === canonical(other)

const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, child: unknown) => {
    if (typeof child === "bigint") return `${child}n`
    if (typeof child !== "object" || child === null || Array.isArray(child)) return child
    return Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)))
  })
