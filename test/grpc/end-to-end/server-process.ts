/** A server of the test service in its own process, with this package's interceptor. `count` of a request is how long its handler takes. */
import * as grpc from '@grpc/grpc-js'
import { resilientServerInterceptor } from '../../../src/grpc/index.ts'
import { type Item, type ItemInit, usersDefinition } from '../support/users.ts'

const [address = ''] = process.argv.slice(2)

const server = new grpc.Server({
	interceptors: [
		resilientServerInterceptor(grpc, {
			defaultDeadlineMs: 10_000,
			bulkhead: { maxConcurrent: 2, maxQueue: 0 },
		}),
	],
})
let started = 0
server.addService(usersDefinition, {
	Get(call: grpc.ServerUnaryCall<Item, ItemInit>, callback: grpc.sendUnaryData<ItemInit>) {
		started++
		const { text, count } = call.request
		process.send?.({ started: text })
		setTimeout(() => callback(null, { text, count: started }), count)
	},
})
server.bindAsync(address, grpc.ServerCredentials.createInsecure(), (error, port) => {
	if (error) throw error
	process.send?.({ port })
})
process.once('disconnect', () => process.exit())
