/** Webhooks by the Standard Webhooks specification: signing and verification, on every runtime. */

export { createWebhookKeyPair, createWebhookSecret } from './create-secrets.ts'
export { WebhookVerificationError } from './errors.ts'
export type { VerifyWebhookOptions } from './options.ts'
export type { WebhookRequest } from './request.ts'
export { signWebhook, type WebhookHeaders } from './sign.ts'
export { type VerifiedWebhook, verifyWebhook } from './verify.ts'
