/** Webhooks in virtual time: a store in memory, a relay, and receivers that are functions. */
import {
	type Relay,
	type RelayOptions,
	type WebhookEvent,
	Webhooks,
	type WebhooksOptions,
} from 'yaoki/outbox'
import { verifyWebhook } from 'yaoki/webhooks'
import { setup, type TestSystem } from '../relay/setup.ts'

interface Received {
	readonly url: string
	readonly headers: Headers
	readonly body: string
	readonly at: number
	/** Aborted when the attempt times out, as a connection would be. */
	readonly signal: AbortSignal | undefined
}

type Respond = (received: Received) => Response | Promise<Response>

export interface WebhookSystem extends AsyncDisposable {
	readonly system: TestSystem
	readonly webhooks: Webhooks
	readonly events: WebhookEvent[]
	readonly received: Received[]
	/** Sets how a receiver responds from now on. Default: 204. */
	respond(url: string, respond: Respond): void
	start(options?: Parameters<Webhooks['destinations']>[0], relay?: RelayOptions): Promise<Relay>
	/** Returns the payloads that a URL received. */
	payloadsAt(url: string): unknown[]
	/** Verifies a request as a receiver would. */
	verify(received: Received | undefined, secret: string): ReturnType<typeof verifyWebhook>
}

export async function setupWebhooks(options: WebhooksOptions = {}): Promise<WebhookSystem> {
	const system = await setup()
	const { clock, outbox } = system
	const responders = new Map<string, Respond>()
	const received: Received[] = []
	const events: WebhookEvent[] = []
	const receive = async (input: unknown, init: RequestInit = {}): Promise<Response> => {
		const url = String(input)
		const body = new TextDecoder().decode(init.body as Uint8Array)
		const { signal } = init
		const one = {
			url,
			headers: new Headers(init.headers),
			body,
			at: clock.now(),
			signal: signal ?? undefined,
		}
		received.push(one)
		const response = await responders.get(url)?.(one)
		return response ?? new Response(null, { status: 204 })
	}
	const webhooks = new Webhooks(outbox, {
		ssrfProtection: false,
		fetch: receive as typeof fetch,
		runtime: clock,
		onEvent: (event) => events.push(event),
		...options,
	})
	return {
		system,
		webhooks,
		events,
		received,
		respond: (url, respond) => responders.set(url, respond),
		start: (given, options) => system.relay({ ...webhooks.destinations(given) }, options),
		payloadsAt: (url) => received.filter((one) => one.url === url).map(({ body }) => JSON.parse(body)),
		async verify(one, secret) {
			if (!one) throw new Error('nothing was received')
			const { headers, body } = one
			return verifyWebhook(new Request(one.url, { method: 'POST', headers, body }), secret, {
				runtime: clock,
			})
		},
		async [Symbol.asyncDispose]() {
			await webhooks.close()
			await system[Symbol.asyncDispose]()
		},
	}
}

export const A = 'https://a.example.com/hooks'
export const B = 'https://b.example.com/hooks'
