import { once } from 'node:events'
import type { Server } from 'node:http'

export async function listening(server: Server): Promise<void> {
	if (!server.listening) await once(server, 'listening')
}
