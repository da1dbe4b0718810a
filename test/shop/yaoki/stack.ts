import type { Stack } from '../shop.ts'

export const YAOKI: Stack = {
	storefront: new URL('./storefront.ts', import.meta.url),
	orders: new URL('./orders.ts', import.meta.url),
	payments: new URL('./payments.ts', import.meta.url),
	relay: new URL('./relay.ts', import.meta.url),
}
