/** The mount for Fastify: a plugin, so that `prefix` and the hooks of the application apply. */
import type { MountSettings } from './mount.ts'
import { type DashboardNodeRequest, type DashboardNodeResponse, respondToNode } from './node-mount.ts'

type DashboardFastifyRequest = { readonly raw: DashboardNodeRequest }

type DashboardFastifyReply = {
	readonly raw: DashboardNodeResponse
	getHeaders(): Readonly<Record<string, number | string | readonly string[] | undefined>>
	hijack(): unknown
}

/** The part of a Fastify instance that is used. */
export type DashboardFastifyApp = {
	readonly prefix: string
	removeAllContentTypeParsers(): unknown
	addContentTypeParser(
		type: string,
		parser: (
			request: unknown,
			payload: unknown,
			done: (error: Error | null, body?: undefined) => void,
		) => void,
	): unknown
	all(
		path: string,
		handler: (request: DashboardFastifyRequest, reply: DashboardFastifyReply) => void,
	): unknown
}

export function registerInFastify(app: DashboardFastifyApp, settings: MountSettings): void {
	// Inside this plugin only. The dashboard reads bodies itself, after it has authorized the client.
	app.removeAllContentTypeParsers()
	app.addContentTypeParser('*', (_request, _payload, done) => done(null))
	const basePath = settings.basePath ?? (app.prefix.replace(/\/$/, '') || undefined)
	const handler = (request: DashboardFastifyRequest, reply: DashboardFastifyReply): void => {
		reply.hijack()
		// What hooks have set, such as headers of CORS.
		for (const [name, value] of Object.entries(reply.getHeaders()))
			if (value !== undefined) reply.raw.setHeader(name, typeof value === 'number' ? String(value) : value)
		respondToNode(request.raw, reply.raw, request, { ...settings, basePath })
	}
	app.all('/', handler)
	app.all('/*', handler)
}
