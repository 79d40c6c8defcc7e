// New signing keys of webhooks, which this browser makes.
import { newSigningKey, signingKeyBytes } from "../../../src/domain/notification/Notification.ts"

export const makeSigningKey = (): string => newSigningKey(crypto.getRandomValues(new Uint8Array(signingKeyBytes)))
