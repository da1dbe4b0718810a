/** What the mounts for the kinds of server have in common. */
import type { Exchange } from './exchange.ts'

/** Responds to a request of any server. Never rejects. */
type Respond = (exchange: Exchange) => Promise<Response>

/** The option `basePath` without a slash at its end, which wins over what a framework says. */
export interface MountSettings {
	readonly basePath: string | undefined
	readonly respond: Respond
	/** Receives an error of a connection that has begun to respond. */
	readonly report: (error: unknown) => void
}
