// Random commands on all resources. There are only a few ids and values, so that commands affect the same resources.
import { Schema } from "effect"
import { RelayerSort } from "../../src/domain/relayer/Relayer.ts"

const At = Schema.Literals([0, 1])
const SignerIds = Schema.Literals(["s1", "s2", "s3"])
const NotificationIds = Schema.Literals(["n1", "n2"])
const RelayerIds = Schema.Literals(["a", "b", "c", "d"])
export const Condition = Schema.Literals(["none", "current", "stale"])
const Names = Schema.Literals(["x", "y", "Z", "é"])

export const Patch = Schema.Struct({
  name: Schema.optionalKey(Names),
  paused: Schema.optionalKey(Schema.Boolean),
  notification_id: Schema.optionalKey(Schema.NullOr(NotificationIds)),
  cap: Schema.optionalKey(Schema.NullOr(Schema.Literals([1n, 2n ** 100n])))
})

const Command = Schema.Union([
  Schema.Struct({ _tag: Schema.tag("CreateSigner"), at: At, id: SignerIds }),
  Schema.Struct({ _tag: Schema.tag("DeleteSigner"), at: At, id: SignerIds }),
  Schema.Struct({ _tag: Schema.tag("CreateNotification"), at: At, id: NotificationIds, signed: Schema.Boolean }),
  Schema.Struct({
    _tag: Schema.tag("UpdateNotification"),
    at: At,
    id: NotificationIds,
    url: Schema.optionalKey(Schema.Literals(["https://a.example", "https://b.example"])),
    key: Schema.optionalKey(Schema.Literals(["", "0123456789abcdef0123456789abcdef"])),
    paused: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.Struct({ _tag: Schema.tag("DeleteNotification"), at: At, id: NotificationIds }),
  Schema.Struct({
    _tag: Schema.tag("CreateRelayer"),
    at: At,
    id: RelayerIds,
    name: Names,
    network: Schema.Literals(["sepolia", "base", "nowhere"]),
    paused: Schema.Boolean,
    signer: SignerIds,
    notification: Schema.optionalKey(NotificationIds)
  }),
  Schema.Struct({ _tag: Schema.tag("UpdateRelayer"), at: At, id: RelayerIds, patch: Patch, condition: Condition }),
  Schema.Struct({
    _tag: Schema.tag("UpdateRelayer"),
    at: At,
    id: RelayerIds,
    patch: Schema.Struct({ paused: Schema.Boolean }),
    condition: Schema.Literal("none")
  }),
  Schema.Struct({ _tag: Schema.tag("DeleteRelayer"), at: At, id: RelayerIds, condition: Condition }),
  Schema.Struct({
    _tag: Schema.tag("ListRelayers"),
    at: At,
    per_page: Schema.Literals([1, 2, 3, 10]),
    sort: RelayerSort,
    name: Schema.optionalKey(Names),
    paused: Schema.optionalKey(Schema.Boolean)
  }),
  Schema.Struct({ _tag: Schema.tag("PatchAtOnce"), id: RelayerIds, conditional: Schema.Boolean }),
  Schema.Struct({ _tag: Schema.tag("CreateAtOnce"), id: RelayerIds, signer: SignerIds }),
  Schema.Struct({ _tag: Schema.tag("UseAndDelete"), id: RelayerIds, notification: NotificationIds })
])
export type Command = typeof Command.Type
export const Commands = Schema.Array(Command).check(Schema.isBetweenLength(20, 60))

/** All sequences begin with these commands, which create two relayers, the resources that they refer to, and another signer. */
export const beginning: ReadonlyArray<Command> = [
  { _tag: "CreateSigner", at: 0, id: "s1" },
  { _tag: "CreateSigner", at: 1, id: "s2" },
  { _tag: "CreateSigner", at: 0, id: "s3" },
  { _tag: "CreateNotification", at: 0, id: "n1", signed: true },
  {
    _tag: "CreateRelayer",
    at: 1,
    id: "a",
    name: "x",
    network: "sepolia",
    paused: false,
    signer: "s1",
    notification: "n1"
  },
  { _tag: "CreateRelayer", at: 0, id: "b", name: "y", network: "base", paused: true, signer: "s2" }
]
