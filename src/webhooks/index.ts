/** Webhooks by the Standard Webhooks specification: signing and verification, on every runtime. */

export { createWebhookKeyPair, createWebhookSecret, type WebhookKeyPair } from './create-secrets.ts'
export { WebhookVerificationError } from './errors.ts'
export type { VerifyWebhookOptions } from './options.ts'
export type { WebhookRequest } from './request.ts'
export type { WebhookScheme } from './schemes.ts'
export { signWebhook, type WebhookContent, type WebhookHeaders } from './sign.ts'
export { type VerifiedWebhook, verifyWebhook } from './verify.ts'
