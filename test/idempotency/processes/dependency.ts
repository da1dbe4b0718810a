/** The service that steps call. It records every request and every effect, and a repeated idempotency key has no second effect. */
import { createServer } from 'node:http'
import { listen } from '../../support/listen.ts'

/** What happened for one order, in order. */
export type Occurrence = 'charge requested' | 'charged' | 'mailed' | 'mail stored'

export interface Dependency extends AsyncDisposable {
	readonly port: number
	/** By the key of the order. */
	occurrences(key: string): readonly Occurrence[]
}

export async function startDependency(): Promise<Dependency> {
	const occurrences = new Map<string, Occurrence[]>()
	const charges = new Map<string, string>()
	const note = (key: string, ...what: Occurrence[]) =>
		occurrences.set(key, [...(occurrences.get(key) ?? []), ...what])

	const routes: Readonly<Record<string, (body: { key: string; idempotencyKey: string }) => unknown>> = {
		'/charges': ({ key, idempotencyKey }) => {
			note(key, 'charge requested')
			const charge = charges.get(idempotencyKey)
			if (charge !== undefined) return charge
			note(key, 'charged')
			charges.set(idempotencyKey, `charge ${charges.size}`)
			return charges.get(idempotencyKey)
		},
		'/mails': ({ key }) => {
			note(key, 'mailed')
			return 'sent'
		},
		'/stored': ({ key }) => {
			note(key, 'mail stored')
			return 'noted'
		},
	}
	const server = createServer(async (request, response) => {
		try {
			const chunks: Buffer[] = []
			for await (const chunk of request) chunks.push(chunk)
			const result = routes[request.url ?? '']?.(JSON.parse(Buffer.concat(chunks).toString()))
			response.end(String(result))
		} catch {
			// The caller was killed.
			response.destroy()
		}
	})
	const port = await listen(server)
	return {
		port,
		occurrences: (key) => occurrences.get(key) ?? [],
		async [Symbol.asyncDispose]() {
			server.closeAllConnections()
			await new Promise((resolve) => server.close(resolve))
		},
	}
}
