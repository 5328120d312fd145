// Lists the one word for each thing in Spanish.
import { noSecondFactor, whole, type WordList } from './word-list.ts';

export const list: WordList = {
  words: [
    { use: 'administrador', not: whole('admin(s|istradora)?') },
    { use: 'aplicación', not: whole('apps?|aplicativos?|programas? cliente'), where: noSecondFactor },
    { use: 'correo electrónico', not: whole('e-?mails?|mails?') },
    { use: 'llave de acceso', not: whole('passkeys?|claves? de acceso') },
    { use: 'iniciar sesión', not: whole('loguear|loguearse|login|ingresar|ingresa|acceder a tu cuenta|conectarse') },
    { use: 'contraseña', not: whole('password|clave secreta') },
    {
      use: 'verificación en dos pasos',
      not: /doble factor|2FA|verificación en 2 pasos|autenticación de dos factores/i,
    },
    { use: 'código de recuperación', not: /códigos? de (respaldo|seguridad|reserva)/i },
    { use: 'quitar, eliminar', not: whole('borrar|borra|suprimir') },
    { use: 'los demás navegadores', not: /los demás sitios/i },
    { use: 'ajustes', not: /la configuración/i },
    { use: 'tú', not: whole('ustedes?') },
  ],
  same: ['Error: {state}', 'No', 'Roles'],
};
