import 'reflect-metadata'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { type ClientGrpc, ClientsModule } from '@nestjs/microservices'
import { firstValueFrom, type Observable } from 'rxjs'
import { afterAll, expect, test } from 'vitest'
import { resilient, usersClient } from './.cache/nestjs-grpc-client/users.client.ts'

const PROTO = `
syntax = "proto3";
package shop;
message User { string name = 1; }
service Users { rpc Get (User) returns (User); }
`
interface User {
	readonly name: string
}
interface Users {
	get(request: User): Observable<User>
}

const folder = mkdtempSync(join(tmpdir(), 'yaoki-nest-'))
const protoPath = join(folder, 'users.proto')
writeFileSync(protoPath, PROTO)

let failures = 0
let calls = 0
const server = new grpc.Server()
const { shop } = grpc.loadPackageDefinition(loadSync(protoPath)) as unknown as {
	readonly shop: { readonly Users: grpc.ServiceClientConstructor }
}
server.addService(shop.Users.service, {
	Get(call: grpc.ServerUnaryCall<User, User>, callback: grpc.sendUnaryData<User>) {
		calls++
		if (failures-- > 0) callback({ code: grpc.status.UNAVAILABLE, details: 'restarting' })
		else callback(null, call.request)
	},
})
const port = await new Promise<number>((resolve, reject) =>
	server.bindAsync('127.0.0.1:0', grpc.ServerCredentials.createInsecure(), (error, given) =>
		error ? reject(error) : resolve(given),
	),
)

@Module({
	imports: [ClientsModule.register([{ name: 'USERS', ...usersClient(`127.0.0.1:${port}`, protoPath) }])],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: false })
const client = app.get<ClientGrpc & { close(): void }>('USERS')
const users = client.getService<Users>('Users')

afterAll(async () => {
	client.close()
	await app.close()
	server.forceShutdown()
	rmSync(folder, { recursive: true })
})

test('a call succeeds after failures', async () => {
	failures = 2
	expect(await firstValueFrom(users.get({ name: 'Ada' }))).toEqual({ name: 'Ada' })
	expect(calls).toBe(3)
	expect(resilient.stats).toMatchObject({ calls: 1, failures: 0, attempts: 3 })
})

test('after three attempts the caller receives the error of grpc-js', async () => {
	failures = 3
	await expect(firstValueFrom(users.get({ name: 'Ada' }))).rejects.toMatchObject({
		code: grpc.status.UNAVAILABLE,
		details: 'restarting',
	})
	expect(calls).toBe(6)
})
