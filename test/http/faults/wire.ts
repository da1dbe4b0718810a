/** A client that is nothing but a socket: it shows what the server really sent, and how it ended. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { FaultServer } from './fault-server.ts'

export const GET = 'GET / HTTP/1.1\r\nhost: here\r\n\r\n'

/** Returns everything received over a plain socket, and whether it ended with FIN or RST. */
export async function wire(server: FaultServer): Promise<{ end: string; received: string }> {
	const socket = open(server)
	const end = new Promise<string>((resolve) => {
		socket.once('end', () => resolve('FIN'))
		socket.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
	})
	let received = ''
	socket.setEncoding('latin1').on('data', (bytes: string) => {
		received += bytes
	})
	socket.write(GET)
	const how = await end
	socket.destroy()
	return { end: how, received: withoutDate(received) }
}

/** Sends requests on one connection, each after the previous response, until the server closes it. */
export async function oneByOne(server: FaultServer, requests: number): Promise<{ answers: number }> {
	const socket = open(server)
	const ended = once(socket, 'end').then(() => true)
	for (let answers = 0; answers < requests; answers++) {
		socket.write(GET)
		if (await Promise.race([ended, once(socket, 'data').then(() => false)])) return { answers }
	}
	socket.destroy()
	return { answers: requests }
}

export function open(server: FaultServer): Socket {
	return connect(Number(new URL(server.origin).port), '127.0.0.1')
}

const withoutDate = (head: string) => head.replace(/Date: .*\r\n/, '').replace(/Connection: .*\r\n/, '')
