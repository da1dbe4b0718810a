/** Services on loopback that stand in for those of the recipes: the code of a recipe calls the real host names. */
import { onTestFinished, vi } from 'vitest'
import { type FaultServer, type Step, startFaultServer } from '../../http/faults/fault-server.ts'
import type { Script } from '../../http/faults/script.ts'
import { answer } from '../../http/faults/steps.ts'

/** Starts a server that plays a script, and sends it all requests of `fetch` for this host. */
export async function startService(host: string, script: Script<Step>): Promise<FaultServer> {
	const server = await startServer(script)
	const send = globalThis.fetch
	vi.stubGlobal('fetch', (input: string | URL | Request, init: RequestInit = {}) => {
		const request = input instanceof Request ? input : { url: input, method: 'GET', headers: {} }
		const { host: called, pathname, search } = new URL(request.url)
		if (called !== host) throw new Error(`unexpected request to ${called}`)
		const { method, headers } = request
		return send(server.origin + pathname + search, { method, headers, ...init })
	})
	return server
}

/** Starts a server that plays a script until the end of the test. */
export async function startServer(script: Script<Step>): Promise<FaultServer> {
	const server = await startFaultServer(script)
	onTestFinished(() => server.close())
	return server
}

export const json = (body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Step =>
	answer({ status, headers: { 'content-type': 'application/json', ...headers }, body: JSON.stringify(body) })

/** Overloaded, and asks for a second. */
export const BUSY: Step = json({ error: 'busy' }, 503, { 'retry-after': '1' })
export const LIMITED: Step = json({ error: 'slow down' }, 429, { 'retry-after': '1' })

/** Delays with full jitter are then 0. */
export const skipBackoff = (): void => {
	vi.spyOn(Math, 'random').mockReturnValue(0)
}

/** Returns the values of a header in all requests that the server received. */
export const headersOf = ({ requests }: FaultServer, name: string): readonly unknown[] =>
	requests.map(({ headers }) => headers[name])
