// The endpoints of the console's sessions, below `/console`. They are a contract of their own: an instance with CONSOLE=off has no
// such route, and programs use API keys.
import { Schema } from "effect"
import { HttpApi, HttpApiGroup, OpenApi } from "effect/http-api"
import * as Endpoint from "./Endpoint.ts"
import * as Envelope from "./Envelope.ts"
import { failure, sentence } from "./Failure.ts"
import { Authorization, DecodeErrors, RequestBody } from "./Middleware.ts"
import {
  CreateSession,
  CurrentSession,
  ListedSession,
  NewSession,
  SessionId,
  SessionNotFound,
  SignInNeedsTls
} from "../domain/access/Caller.ts"
import { MisdirectedRequest } from "../domain/request/Request.ts"
import * as Errors from "./Errors.ts"
import * as Json from "./Json.ts"

const SessionNotFoundError = failure(404)(
  SessionNotFound,
  "Session not found",
  "No session has this id, or the API key may not see it."
)

const SignInNeedsTlsError = sentence(403)(
  SignInNeedsTls,
  "Sign-in needs TLS",
  "The browser would send the API key in plain text to another machine; `error` names both ways out."
)

export const MisdirectedRequestError = sentence(421)(
  MisdirectedRequest,
  "Misdirected Request",
  "The host of the request is not one of the console; `error` names the setting."
)

class SignInApi extends HttpApiGroup.make("signIn")
  .add(
    Endpoint.post("create", "/session", {
      summary: "Sign in",
      description:
        "Exchanges an API key for a session. The response sets the cookie of the session, and its body has the proof. The request needs `X-Console: 1`.",
      through: [RequestBody],
      payload: Json.body(CreateSession),
      success: Envelope.created(NewSession),
      error: [Errors.UnauthorizedError, Errors.ForbiddenError, Errors.TooManyRequestsError, SignInNeedsTlsError]
    })
  )
  .middleware(DecodeErrors)
  .annotateMerge(OpenApi.annotations({ title: "Sign-in", description: "A session of the console for an API key." })) {}

class SessionsApi extends HttpApiGroup.make("sessions")
  .add(
    Endpoint.get("current", "/session", {
      scope: "every caller",
      summary: "Get the own session",
      description: "With what its key may do now.",
      success: Envelope.of(CurrentSession),
      error: SessionNotFoundError
    }),
    Endpoint.remove("signOut", "/session", {
      scope: "every caller",
      summary: "Sign out",
      description: "Ends the own session and removes its cookie.",
      success: Envelope.deleted("Signed out"),
      error: [SessionNotFoundError, Errors.ForbiddenError]
    }),
    Endpoint.get("list", "/sessions", {
      scope: "every caller",
      summary: "List sessions",
      description: "The newest first: those of the own API key and, with `api-keys:write`, those of all keys.",
      success: Envelope.listOf(ListedSession)
    }),
    Endpoint.remove("end", "/sessions/:session_id", {
      scope: "every caller",
      summary: "End a session",
      description: "Its requests are refused from now on, and its streams end at their next heartbeat.",
      params: Schema.Struct({ session_id: SessionId }),
      success: Envelope.deleted("Session ended"),
      error: [SessionNotFoundError, Errors.ForbiddenError]
    })
  )
  .middleware(DecodeErrors)
  .middleware(Authorization)
  .annotateMerge(
    OpenApi.annotations({ title: "Sessions", description: "Sessions of people who are signed in to the console." })
  ) {}

export class ConsoleApi extends HttpApi.make("effect-relayer-console")
  .add(SignInApi)
  .add(SessionsApi)
  .annotate(HttpApi.PayloadParseOptions, { errors: "all", onExcessProperty: "error" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all", onExcessProperty: "error" }) {}
