// The types of the clients, which a script writes from the schemas, are those that TypeScript derives from the schemas, and those of the client
// with promises are those of the typed client, mapped.
import { assert, describe, it } from "@effect/vitest"
import type { HttpApi, HttpApiClient, HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import type { Api } from "../../src/api/Api.ts"
import type { ApiClient, Client, WebhookPayload as Webhook } from "../../src/client/ApiClient.ts"
import type { Method } from "../../src/client/Method.ts"
import type { createClient } from "../../src/client/promise/createClient.ts"
import type {
  CallOptions,
  Client as PromiseClient,
  ErrorOf,
  PlainInput,
  Plain,
  Result
} from "../../src/client/promise/createClient.ts"
import type { Method as PromiseMethod } from "../../src/client/promise/Method.ts"
import type { WebhookPayload } from "../../src/api/WebhooksApi.ts"

type Part<Name extends string, T> = [T] extends [never]
  ? {}
  : {} extends T
    ? { readonly [K in Name]?: PlainInput<T> }
    : { readonly [K in Name]: PlainInput<T> }

type RequestOf<E extends HttpApiEndpoint.ConstraintRequest> = Part<"params", E["~Params"]["Type"]> &
  Part<"query", E["~Query"]["Type"]> &
  Part<"headers", E["~Headers"]["Type"]> &
  Part<"payload", E["~Payload"]["Type"]>

type Arguments<R> = {} extends R ? [request?: R, options?: CallOptions] : [request: R, options?: CallOptions]

type Methods<
  Group extends HttpApiGroup.Constraint,
  Id extends string
> = Group["endpoints"] extends infer Endpoints extends Readonly<Record<string, HttpApiEndpoint.ConstraintRequest>>
  ? {
      readonly [Name in keyof Endpoints]: (
        ...args: Arguments<RequestOf<Endpoints[Name]>>
      ) => Promise<Result<Plain<Endpoints[Name]["~Success"]["Type"]>, ErrorOf<Id, Name & string>>>
    }
  : {}

type Groups = typeof Api extends HttpApi.HttpApi<infer _Id, infer All> ? All : never

/** What TypeScript derives. */
type Derived = HttpApiClient.ForApi<typeof Api>
type DerivedPromise = {
  readonly [Group in Groups as HttpApiGroup.Identifier<Group>]: Methods<Group, HttpApiGroup.Identifier<Group>>
}

type OptionalParts<R> = { readonly [Name in keyof R as {} extends R[Name] ? Name : never]?: PlainInput<R[Name]> }
type RequiredParts<R> = { readonly [Name in keyof R as {} extends R[Name] ? never : Name]: PlainInput<R[Name]> }

type MappedMethods<Id extends string, Group> = {
  readonly [Name in keyof Group & string]: Group[Name] extends Method<Id, Name, infer Request, infer Success>
    ? PromiseMethod<Id, Name, OptionalParts<Request> & RequiredParts<Request>, Plain<Success>>
    : never
}

/** The typed client as programs without Effect see it. The script writes both. */
type Mapped = { readonly [Id in keyof Client]: MappedMethods<Id, Client[Id]> }

type DerivedWebhook = (typeof WebhookPayload)["Type"]

describe("the types of the clients", () => {
  it("can be used in place of the derived types, and the derived types in place of them", () => {
    // The compiler makes these comparisons.
    const same = [
      (client: Client): Derived => client,
      (client: Derived): Client => client,
      (client: PromiseClient): DerivedPromise => client,
      (client: DerivedPromise): PromiseClient => client,
      (client: PromiseClient): Mapped => client,
      (client: Mapped): PromiseClient => client,
      (webhook: Webhook): DerivedWebhook => webhook,
      (webhook: DerivedWebhook): Webhook => webhook,
      (client: ApiClient["Service"]): Client => client,
      (client: ReturnType<typeof createClient>): PromiseClient => client
    ]
    assert.lengthOf(same, 10)
  })
})
