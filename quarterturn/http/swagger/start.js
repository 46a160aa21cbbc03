// Starts Swagger UI on /docs. It loads the description from this service, and nothing from elsewhere.
const dark = matchMedia("(prefers-color-scheme: dark)");
const scheme = () => document.documentElement.classList.toggle("dark-mode", dark.matches); // Swagger UI's own class
scheme();
dark.addEventListener("change", scheme);
window.addEventListener("load", () => {
  SwaggerUIBundle({
    url: "/openapi.json",
    dom_id: "#swagger-ui",
    presets: [SwaggerUIBundle.presets.apis],
    defaultModelsExpandDepth: 0,
    displayRequestDuration: true,
    persistAuthorization: false,
    syntaxHighlight: { activated: false },
    validatorUrl: null,
  });
});
