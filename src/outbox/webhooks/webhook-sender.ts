/** Sends the request of a webhook: through the guarded client, or through a `fetch` without protection. */
import { readExcerpt } from '../destinations/read-excerpt.ts'
import { createGuardedClient } from './transport/guarded-client.ts'
import type { WebhooksSettings } from './webhooks-options.ts'

interface OutgoingWebhook {
	readonly url: string
	readonly headers: Readonly<Record<string, string>>
	readonly body: Uint8Array<ArrayBuffer>
	readonly signal: AbortSignal
	/** Called when the status has arrived, before the body is read. */
	readonly onStatus: (status: number) => void
}

/** The response to a request, whatever its status is. */
export interface WebhookResponse {
	readonly status: number
	readonly retryAfter: string | undefined
	/** The start of the body. */
	readonly excerpt: string
}

export interface WebhookSender {
	send(request: OutgoingWebhook): Promise<WebhookResponse>
	close(): void
}

export function createSender(settings: WebhooksSettings): WebhookSender {
	const { ssrfProtection, maxResponseBytes } = settings
	if (ssrfProtection === false) return fetchSender(settings)
	const client = createGuardedClient({ ...ssrfProtection, maxResponseBytes })
	return {
		async send(request) {
			const { status, retryAfter, excerpt } = await client.send(request)
			return { status, retryAfter, excerpt: new TextDecoder().decode(excerpt) }
		},
		close: () => client.close(),
	}
}

function fetchSender({ fetch: given, maxResponseBytes }: WebhooksSettings): WebhookSender {
	return {
		async send({ url, headers, body, signal, onStatus }) {
			// The global one is looked up for each request: tests replace it.
			const send = given ?? globalThis.fetch
			// A redirect is a failure: the URL of the endpoint is wrong, or leads to an address that was not checked.
			const response = await send(url, { method: 'POST', headers, body, signal, redirect: 'manual' })
			onStatus(response.status)
			const excerpt = (await readExcerpt(response.body, maxResponseBytes, signal)) ?? ''
			return {
				status: response.status,
				retryAfter: response.headers.get('retry-after') ?? undefined,
				excerpt,
			}
		},
		close() {},
	}
}
