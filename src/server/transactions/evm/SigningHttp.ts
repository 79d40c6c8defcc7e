// The handlers of `SigningApi`.
import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Api } from "../../../api/Api.ts"
import * as GroupServices from "../../responses/GroupServices.ts"
import * as Respond from "../../responses/Respond.ts"
import { MessageSigning } from "./MessageSigning.ts"

export const SigningHttp = HttpApiBuilder.group(
  Api,
  "signing",
  Effect.fnUntraced(function* (handlers) {
    const signing = yield* MessageSigning
    return handlers.handleAll({
      sign: ({ params, payload }) => Respond.one(signing.sign(params.relayer_id, payload)),
      signTypedData: ({ params, payload }) => Respond.one(signing.signTypedData(params.relayer_id, payload))
    })
  })
).pipe(GroupServices.limitTo(MessageSigning))
