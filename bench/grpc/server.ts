/** A grpc-js server that responds immediately. Its first message is its port. */
import { Server, ServerCredentials, type sendUnaryData } from '@grpc/grpc-js'
import { GET } from './service.ts'

const server = new Server()
server.addService(
	{ get: GET },
	{ get: (_call: unknown, callback: sendUnaryData<string>) => callback(null, 'a user') },
)
server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
	if (error) throw error
	process.send?.(port)
})
process.on('disconnect', () => process.exit())
