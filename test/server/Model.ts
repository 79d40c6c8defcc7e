// A model of the services: the resources in memory, and the expected outcome of each command.
import { Result } from "effect"
import { NotificationId } from "../../src/domain/notification/Notification.ts"
import { NetworkName } from "../../src/domain/network/Network.ts"
import { RelayerId } from "../../src/domain/relayer/Relayer.ts"
import type {
  CreateRelayer,
  Relayer,
  RelayerFilter,
  RelayerSort,
  UpdateRelayer
} from "../../src/domain/relayer/Relayer.ts"
import { entityTag } from "../../src/domain/request/Request.ts"
import type { Versioned } from "../../src/domain/request/Request.ts"
import { SignerId } from "../../src/domain/signer/Signer.ts"
import type { Command, Condition, Patch } from "./ModelCommands.ts"

export interface Note {
  readonly url: string
  readonly has_signing_key: boolean
  readonly paused: boolean
}

export class Model {
  readonly signers = new Set<string>()
  readonly notifications = new Map<string, Note>()
  /** In the order of creation. */
  readonly relayers = new Map<string, Versioned<Relayer>>()

  users(field: "signer_id" | "notification_id", id: string) {
    return [...this.relayers.values()].filter(({ value }) => value[field] === id).map(({ value }) => value.id)
  }
}

type Create = Extract<Command, { _tag: "CreateRelayer" }>

export const requestOf = ({
  id,
  name,
  network,
  paused,
  signer,
  notification
}: Omit<Create, "_tag" | "at">): CreateRelayer => ({
  id: RelayerId.make(id),
  name,
  network: NetworkName.make(network),
  network_type: "evm",
  paused,
  signer_id: SignerId.make(signer),
  ...(notification === undefined ? {} : { notification_id: NotificationId.make(notification) })
})

export const createOutcome = (model: Model, request: CreateRelayer): string => {
  if (model.relayers.has(request.id ?? "")) return "RelayerIdTaken"
  const isKnown =
    request.network !== "nowhere" &&
    model.signers.has(request.signer_id) &&
    (request.notification_id === undefined || model.notifications.has(request.notification_id))
  return isKnown ? "ok" : "BadRequest"
}

export const patchOf = ({ name, paused, notification_id, cap }: typeof Patch.Type): UpdateRelayer => ({
  ...(name === undefined ? {} : { name }),
  ...(paused === undefined ? {} : { paused }),
  ...(notification_id === undefined
    ? {}
    : { notification_id: notification_id === null ? null : NotificationId.make(notification_id) }),
  ...(cap === undefined ? {} : { policies: { gas_price_cap: cap } })
})

export const patched = (relayer: Relayer, { name, paused, notification_id, cap }: typeof Patch.Type): Relayer => {
  if (relayer.network_type !== "evm") throw new Error("all relayers here are evm")
  const { notification_id: current, policies, ...rest } = relayer
  const notification = notification_id === undefined ? current : notification_id
  const { gas_price_cap: _, ...uncapped } = policies ?? {}
  const capped = cap === undefined ? policies : cap === null ? uncapped : { ...uncapped, gas_price_cap: cap }
  return {
    ...rest,
    ...(name === undefined ? {} : { name }),
    ...(paused === undefined ? {} : { paused }),
    ...(notification === null || notification === undefined
      ? {}
      : { notification_id: NotificationId.make(notification) }),
    ...(capped === undefined ? {} : { policies: capped })
  }
}

/** An `If-Match` header. No relayer has the version `0.0`. */
export const ifMatch = (condition: typeof Condition.Type, version: string | undefined): string | undefined =>
  condition === "none" ? undefined : entityTag(condition === "stale" ? "0.0" : (version ?? "0.0"))

/** The version after `version`: `12.4` follows `12.3`. */
export const following = (version: string): string => version.replace(/\d+$/, (count) => String(Number(count) + 1))

export const tagOf = <A, E extends { readonly _tag: string }>(result: Result.Result<A, E>): string =>
  Result.isSuccess(result) ? "ok" : result.failure._tag

const byName = (a: Relayer, b: Relayer) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0)

/** The expected relayers of a list, in its order. */
export const listed = (model: Model, { q, paused }: RelayerFilter, sort: RelayerSort): ReadonlyArray<Relayer> => {
  const found = [...model.relayers.values()]
    .map(({ value }) => value)
    .filter(
      (relayer) =>
        (paused === undefined || relayer.paused === paused) &&
        (q === undefined || `${relayer.name}\n${relayer.id}`.toLowerCase().includes(q.toLowerCase()))
    )
  if (sort.endsWith("name")) found.sort(byName)
  return sort.startsWith("-") ? found.toReversed() : found
}
