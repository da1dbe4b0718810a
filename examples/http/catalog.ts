/** A product catalog on the loopback. Its first response is a 503. */
import { createServer } from 'node:http'

export interface Catalog {
	readonly url: string
	/** Every request so far, as `path app`. */
	readonly seen: readonly string[]
	close(): void
}

const PAGES: Readonly<Record<string, readonly [type: string, body: string]>> = {
	'/v1/products/tea': ['application/json', '{"name":"green tea","price":4.2}'],
	'/v1/products/old': ['application/json', '{"title":"old tea","price":"4.20"}'],
	'/v1/orders/7': ['application/json', '{"id":7}'],
	'/v1/cart': ['text/html', '<!doctype html><title>Log in</title>'],
}

export async function openCatalog(): Promise<Catalog> {
	const seen: string[] = []
	const server = createServer(({ url = '', headers }, response) => {
		seen.push(`${url} ${headers['x-app']}`)
		if (url.startsWith('/v1/orders') && headers.authorization !== 'Bearer fresh') {
			response.writeHead(401).end('expired')
			return
		}
		const [type, body] = PAGES[url.replace(/\?.*/, '')] ?? ['text/plain', `hello, ${headers['x-role']}`]
		response.writeHead(seen.length === 1 ? 503 : 200, { 'content-type': type }).end(body)
	})
	await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
	const address = server.address()
	return {
		url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : undefined}`,
		seen,
		close: () => {
			server.close()
			server.closeAllConnections()
		},
	}
}
