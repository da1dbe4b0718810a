/** Helpers that provoke errors: catch what a call throws, and servers on loopback. */
import { once } from 'node:events'
import { createServer } from 'node:net'

export async function thrownBy(call) {
	try {
		await call()
	} catch (error) {
		return error
	}
	throw new Error(`this call was expected to fail: ${call}`)
}

/** Returns an error that a package constructs but that needs a server which is not available here. */
export const constructed = (error) => ({ how: 'constructed', error })

export async function listen(server) {
	server.listen(0, '127.0.0.1')
	await once(server, 'listening')
	return server.address().port
}

export async function deadPort() {
	const server = createServer()
	const port = await listen(server)
	server.close()
	return port
}

/** Runs `use` with the port of a TCP server that handles each connection with `handle`. */
export async function withServer(handle, use) {
	const sockets = new Set()
	const server = createServer((socket) => {
		sockets.add(socket)
		socket.on('error', () => {})
		handle(socket)
	})
	const port = await listen(server)
	try {
		return await use(port)
	} finally {
		for (const socket of sockets) socket.destroy()
		server.close()
	}
}

/** Runs `use` with the URL of an HTTP server that responds to every request with the status, body and headers. */
export const withResponse = (status, body, headers, use) =>
	withServer(
		(socket) =>
			socket.on('data', () => {
				const text = typeof body === 'string' ? body : JSON.stringify(body)
				const all = {
					'content-type': 'application/json',
					'content-length': Buffer.byteLength(text),
					connection: 'close',
					...headers,
				}
				const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
				socket.end(`HTTP/1.1 ${status} Status\r\n${head.join('')}\r\n${text}`)
			}),
		(port) => use(`http://127.0.0.1:${port}`),
	)
