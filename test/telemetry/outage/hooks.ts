/** Webhooks with an endpoint that works and one that is gone. */
import { type Outbox, Relay, Webhooks } from '../../../src/outbox/index.ts'
import { eventuallyTrue } from '../../support/eventually.ts'

export interface Hooks extends AsyncDisposable {
	readonly observed: { readonly webhooks: Webhooks; readonly hookRelay: Relay }
	start(): Promise<void>
	/** Delivers an event to each endpoint that is enabled. */
	run(round: number): Promise<void>
	stop(): Promise<void>
}

const WORKS = 'https://customer.example.com/hooks'
const GONE = 'https://gone.example.com/hooks'

export async function createHooks(outbox: Outbox): Promise<Hooks> {
	let delivered = 0
	const receive = async (input: unknown): Promise<Response> => {
		if (String(input) === GONE) return new Response(null, { status: 410 })
		delivered++
		return new Response(null, { status: 204 })
	}
	const webhooks = new Webhooks(outbox, { ssrfProtection: false, fetch: receive as typeof fetch })
	for (const url of [WORKS, GONE]) await webhooks.endpoints.create({ url, topics: ['*'] })
	const hookRelay = new Relay(outbox, { destinations: { ...webhooks.destinations() }, pollMs: 20 })
	return {
		observed: { webhooks, hookRelay },
		start: () => hookRelay.start(),
		async run(round) {
			await webhooks.enqueue({ topic: 'order.paid', payload: round })
			await eventuallyTrue(async () => delivered >= round && (await webhooks.stats()).disabled.gone === 1)
		},
		stop: () => hookRelay.stop(),
		async [Symbol.asyncDispose]() {
			await hookRelay.stop()
			await webhooks.close()
		},
	}
}
