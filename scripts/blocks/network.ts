/** Preloaded for a block of the documentation: hosts of example.com respond as in the tests, and only loopback is a network. */
import { network } from '../../test/examples/network.ts'

const overLoopback = globalThis.fetch
const respond = network()

globalThis.fetch = (input, init) => {
	const { hostname } = new URL(input instanceof Request ? input.url : input)
	return hostname.endsWith('example.com') ? respond(input as string, init) : overLoopback(input, init)
}
