// What a relayer refers to: its network, its signer and its notification.
import { Effect, Option } from "effect"
import { NotificationId } from "../../domain/notification/Notification.ts"
import * as Caller from "../../domain/access/Caller.ts"
import type { NetworkType } from "../../domain/network/Network.ts"
import type { CreateRelayer } from "../../domain/relayer/Relayer.ts"
import { BadRequest } from "../../domain/request/Request.ts"
import type { Violation } from "../../domain/request/Request.ts"
import { suggestionFor } from "../../domain/request/Violations.ts"
import { SignerId, signerTypesFor } from "../../domain/signer/Signer.ts"
import { Networks } from "../networks/Networks.ts"
import { Notifications } from "../notifications/Notifications.ts"
import { Signers } from "../signers/Signers.ts"

export const noNotification: Violation = { field: "notification_id", message: "no notification with this id" }

interface Serving {
  readonly type: string
  /** The curve of a key that a key service has. Absent: the type decides. */
  readonly curve?: string
}

/** That a signer serves no network of the type. Without a signer, its type is not said. */
export const cannotServe = (signer: Serving | undefined, networkType: NetworkType): string => {
  const article = /^[aeiou]/.test(signer?.type ?? "") ? "an" : "a"
  const which = signer === undefined ? "this signer" : `${article} ${signer.type} signer`
  const on = signer?.curve === undefined ? "" : ` because its key is on ${signer.curve}`
  return `${which} cannot serve ${networkType}${on}: these can: ${signerTypesFor(networkType).join(", ")}`
}

/** Fails with every reference of a request that does not exist or does not fit. Called if one of them is wrong. */
export const make = Effect.gen(function* () {
  const networks = yield* Networks
  const signers = yield* Signers
  const notifications = yield* Notifications

  const networkProblem = Effect.fnUntraced(function* ({ network_type, network }: CreateRelayer) {
    const located = yield* networks.locate(network_type, network)
    if (located !== undefined) return undefined
    const meant = suggestionFor(network, yield* networks.names(network_type))
    return `no ${network_type} network of this name${meant === undefined ? "" : `; did you mean ${meant}?`}`
  })

  const signerProblem = Effect.fnUntraced(function* ({ signer_id, network_type }: CreateRelayer) {
    const signer = yield* Effect.option(signers.get(SignerId.make(signer_id)))
    if (Option.isNone(signer)) return "no signer with this id"
    if (network_type in signer.value.addresses) return undefined
    const mayRead = Caller.hasScope(yield* Caller.current, "signers:read")
    return cannotServe(mayRead ? signer.value : undefined, network_type)
  })

  const isMissing = ({ notification_id }: CreateRelayer) =>
    notification_id === undefined
      ? Effect.succeed(false)
      : Effect.map(Effect.option(notifications.get(NotificationId.make(notification_id))), Option.isNone)

  return Effect.fn("RelayerReferences.refuse")(function* (request: CreateRelayer): Effect.fn.Return<never, BadRequest> {
    const network = yield* networkProblem(request)
    const signer = yield* signerProblem(request)
    const violations: ReadonlyArray<Violation> = [
      ...(network === undefined ? [] : [{ field: "network", message: network }]),
      ...(signer === undefined ? [] : [{ field: "signer_id", message: signer }]),
      ...((yield* isMissing(request)) ? [noNotification] : [])
    ]
    const changed: Violation = { field: "body", message: "refers to a resource that has just changed: send it again" }
    return yield* BadRequest.of(violations.length === 0 ? [changed] : violations)
  })
})
