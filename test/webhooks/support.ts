import { signWebhook, verifyWebhook, type WebhookRequest, WebhookVerificationError } from 'yaoki/webhooks'

/** Of the test suites of the specification's own libraries. */
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const OTHER_SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX'
export const BODY = '{"test": 2432232314}'

/** A request as a receiver gets it now. */
export async function signedRequest(
	body: string | Uint8Array<ArrayBuffer> = BODY,
	secrets: string | readonly string[] = SECRET,
	init: RequestInit = {},
): Promise<Request> {
	const headers = await signWebhook({ id: 'msg_1', body }, secrets)
	return new Request('https://shop.example.com/webhooks', {
		method: 'POST',
		headers: { ...headers, 'content-type': 'application/json' },
		body,
		...init,
	})
}

/** Returns the error with which a verification rejects. */
export async function rejection(
	...args: Parameters<typeof verifyWebhook>
): Promise<WebhookVerificationError> {
	const error: unknown = await verifyWebhook(...args).catch((thrown: unknown) => thrown)
	if (error instanceof WebhookVerificationError) return error
	throw new Error(`expected a WebhookVerificationError, got ${String(error)}`)
}

export const reasonOf = async (...args: Parameters<typeof verifyWebhook>): Promise<string> =>
	(await rejection(...args)).reason

/** The headers and the bytes, as Lambda and others have them. */
export const plainRequest = async (
	body = BODY,
	secrets: string | readonly string[] = SECRET,
): Promise<WebhookRequest & { readonly headers: Record<string, string> }> => ({
	headers: { ...(await signWebhook({ id: 'msg_1', body }, secrets)) },
	body,
})
